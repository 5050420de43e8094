package dev.shardsmith.reshard.state;

import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.Optional;

/**
 * Opaque state of a module that is no part of the model, such as Transformer Engine's {@code _extra_state}.
 *
 * @param name canonical name
 * @param value the node as read, from the first rank
 * @param tensor where the bytes lie, if the node is a tensor
 */
public record ExtraState(String name, PyValue value, Optional<StoredTensor> tensor) {}
