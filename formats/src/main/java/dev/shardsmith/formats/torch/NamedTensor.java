package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.pickle.PyValue;

/**
 * A tensor of a file under its path.
 *
 * @param name dict keys joined by dots, list items as {@code [i]}, keys that are no strings as {@code <key>}, parts of sparse
 *     tensors as {@code #values}, attributes of tensors as {@code @name}
 * @param tensor what it is
 * @param node where in the object graph it stands; a node that is reachable by two paths is listed twice
 */
public record NamedTensor(String name, TorchTensor tensor, PyValue node) {}
