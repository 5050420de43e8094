/** JSON documents such as {@code config.json} as plain maps and lists, in the order of the file. */
package dev.shardsmith.formats.json;
