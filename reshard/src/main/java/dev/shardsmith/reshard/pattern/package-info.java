/**
 * The language of hybrid layer patterns and the arithmetic of pipeline stages.
 *
 * <pre>
 * pattern = main { "/" mtp }        main = segment { "|" segment }        segment, mtp = { symbol }
 * symbol  = "M" | "G" | "*" | "D" | "+" | "-" | "E"
 * </pre>
 *
 * <p>A {@code |} ends a pipeline (or virtual pipeline) stage and a {@code /} starts a multi-token-prediction part. What is
 * accepted here is what the training framework accepts, with its corner cases: the golden file
 * {@code megatron-patterns/patterns.json} holds its answers. Where it accepts something that loses layers, the answer is
 * the same and a {@link dev.shardsmith.reshard.pattern.StageRemark} says what goes wrong.
 *
 * <p>Nothing here knows of files or tensors; a layout of stages is numbers and symbols only.
 */
package dev.shardsmith.reshard.pattern;
