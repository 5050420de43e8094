/**
 * Looks at one checkpoint: what it holds by layer, statistics of its values, storage that nothing uses, replicas that disagree.
 */
package dev.shardsmith.verify.inspect;
