package dev.shardsmith.verify.forward;

import java.util.List;
import java.util.Optional;

/**
 * What a model holds besides the weights that its forward pass reads.
 *
 * @param notRun parts that no forward pass is known for
 * @param copies tensors that several ranks or layers hold alike, of which the forward pass reads one
 */
public record Remainder(List<NotRun> notRun, List<Copy> copies) {

    /** Nothing is left over. */
    public static final Remainder NONE = new Remainder(List.of(), List.of());

    /**
     * A part that is not run.
     *
     * @param layer number of the layer, if it belongs to one of the main layers
     * @param kind what it is, in a word
     * @param reason which tensors they are
     */
    public record NotRun(Optional<Integer> layer, String kind, String reason) {}

    /**
     * Two copies of a tensor, which must hold the same.
     *
     * @param layer number of the layer, if it belongs to one of the main layers
     * @param name of the tensor and where the second copy is
     * @param first the copy that is run
     * @param other the other one
     */
    public record Copy(Optional<Integer> layer, String name, WeightSource first, WeightSource other) {}
}
