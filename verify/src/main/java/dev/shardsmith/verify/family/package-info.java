/**
 * Which tensor plays which part: builds runnable layers from the names and options of each family.
 *
 * <p>Written from the frameworks' own definitions and without the rules by which checkpoints are converted, so that a wrong
 * rule cannot agree with itself here.
 */
package dev.shardsmith.verify.family;
