/**
 * Model families as tables: which parameters there are, how each is divided, and what each is called in every layout.
 *
 * <p>A new family is a table of names and divisions here plus, where its files differ, a codec in {@code formats}; it is never a
 * new conversion routine.
 */
package dev.shardsmith.reshard.family;
