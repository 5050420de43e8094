/**
 * Reads the options out of a training launch script without running anything.
 *
 * <p>A script is text: it is cut into tokens, parsed into statements, and walked with a table of variables. Assignments, arrays,
 * quotes, continued lines, {@code case} and {@code if}, functions, default values and whole-number arithmetic are understood.
 * What depends on the environment, on a file or on the output of a command stays unresolved and is named. Nothing is ever
 * executed, and no other file is read.
 */
package dev.shardsmith.verify.launch;
