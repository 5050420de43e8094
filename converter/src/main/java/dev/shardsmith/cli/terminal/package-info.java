/** What a terminal needs: width, colours, tables, sizes for people, progress. Knows nothing of checkpoints. */
package dev.shardsmith.cli.terminal;
