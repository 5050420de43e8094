/** What a checkpoint holds besides the model: saved options, counters, opaque module state. */
package dev.shardsmith.reshard.state;
