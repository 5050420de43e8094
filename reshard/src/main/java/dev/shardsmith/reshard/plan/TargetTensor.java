package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;

/**
 * A logical tensor as the target is to have it.
 *
 * @param name canonical name in the target
 * @param source canonical name in the source
 * @param dtype element type in the target
 * @param shape sizes in the target; only vocabulary rows may differ from the source's
 */
public record TargetTensor(String name, String source, DType dtype, Shape shape) {}
