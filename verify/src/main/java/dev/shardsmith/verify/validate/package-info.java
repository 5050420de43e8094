/**
 * Checks that a checkpoint is what it says it is.
 *
 * <p>The weights are the witness: layer kinds, widths and switches are inferred from the names and shapes of the tensors alone
 * ({@link dev.shardsmith.verify.validate.WeightModel}, {@link dev.shardsmith.verify.validate.WeightFacts}) and everything that
 * is said about them elsewhere is held against that: the saved arguments, a pattern, the options of a launch script, the ranks'
 * stages. Values are looked at in one streamed pass.
 */
package dev.shardsmith.verify.validate;
