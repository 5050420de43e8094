package dev.shardsmith.verify.validate;

/**
 * What the weights say about a training argument.
 *
 * @param field the argument
 * @param value its value as Python prints it
 * @param evidence the tensor, and what about it, that says so
 */
record Fact(String field, String value, String evidence) {}
