/**
 * Whether a model is whole: what its layers, its saved options and its config make it have, against what is there.
 *
 * <p>Conversions refuse and validation reports from the same list of gaps. Only names and shapes are looked at, never elements.
 */
package dev.shardsmith.reshard.completeness;
