/**
 * A checkpoint seen as the undivided model: every logical tensor under its canonical name, with the pieces of files that hold
 * it, and everything that is no tensor.
 */
package dev.shardsmith.reshard.view;
