/**
 * What a checkpoint's tensors are, seen from outside: decoded values, statistics, digests and manifests.
 *
 * <p>Everything here works on the <em>logical</em> tensor, cut in blocks that depend on its shape alone, and merges the
 * blocks in order. So neither the layout of the checkpoint nor the number of threads changes a result.
 */
package dev.shardsmith.verify.digest;
