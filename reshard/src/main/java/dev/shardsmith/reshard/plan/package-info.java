/**
 * For every byte of every target file, where it comes from, and the proof that nothing is lost or made up.
 *
 * <p>Making a plan reads no tensor data. A {@link dev.shardsmith.reshard.plan.Plan} can be printed, saved, sent to other
 * machines and executed in parts.
 */
package dev.shardsmith.reshard.plan;
