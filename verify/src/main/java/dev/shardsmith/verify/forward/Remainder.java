package dev.shardsmith.verify.forward;

import java.util.List;
import java.util.Optional;

/**
 * What a model holds besides the weights that its forward pass reads.
 *
 * @param notRun parts that no forward pass is known for
 * @param copies tensors that several ranks or layers hold alike, of which the forward pass reads one
 * @param doubts what the checkpoint's options say of the model and its weights deny, so that it is not known which of them counts
 */
public record Remainder(List<NotRun> notRun, List<Copy> copies, List<String> doubts) {

    /** Nothing is left over. */
    public static final Remainder NONE = new Remainder(List.of(), List.of());

    /** What is left over of a model whose options and weights agree. */
    public Remainder(List<NotRun> notRun, List<Copy> copies) {
        this(notRun, copies, List.of());
    }

    /** The same of a model of which this is denied. */
    public Remainder withDoubts(List<String> denied) {
        return new Remainder(notRun, copies, denied);
    }

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
