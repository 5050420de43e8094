package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayerReading;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.LayeredModel.HeadPart;
import dev.shardsmith.verify.forward.Pass;
import dev.shardsmith.verify.forward.ReadAhead;
import dev.shardsmith.verify.forward.WeightReader;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The comparison of two heads, some rows of the vocabulary at a time: neither the weights nor the logits of all of it are in
 * memory at once.
 *
 * <p>Ranks that hold different rows, and a vocabulary that is padded on one side only, do not matter: rows are counted over
 * all ranks, and those that both sides have are compared.
 */
final class HeadComparison {
    private final LayeredModel left;
    private final LayeredModel right;
    private final List<HeadPart> leftParts;
    private final List<HeadPart> rightParts;

    HeadComparison(LayeredModel left, LayeredModel right) {
        int vocabulary = Math.min(left.vocabulary(), right.vocabulary());
        this.left = left;
        this.right = right;
        this.leftParts = left.headParts(vocabulary);
        this.rightParts = right.headParts(vocabulary);
    }

    /** What is to be read for it. */
    List<ReadAhead.Step> steps() {
        List<ReadAhead.Step> steps = new ArrayList<>();
        for (int i = 0; i < leftParts.size(); i++) {
            steps.add(new ReadAhead.Step(
                    "head", List.of(left.weights(leftParts.get(i)), right.weights(rightParts.get(i)))));
        }
        return steps;
    }

    /**
     * Runs it.
     *
     * @param hidden [tokens, width]
     */
    Deviation run(ForwardBackend backend, WideBackend precise, float[] hidden, int batch, ReadAhead ahead)
            throws IOException {
        float[] some = LayerComparison.closeInput(hidden, left.width());
        Deviation all = Deviation.none();
        for (int i = 0; i < leftParts.size(); i++) {
            try (LayerReading weights = ahead.next()) {
                Deviation close = part(i, some, precise, 1, precise.reading(weights));
                Deviation own =
                        close.ok() ? part(i, hidden, backend, batch, weights).seenAs(close) : close;
                all = all.and(own, leftParts.get(i).from());
            }
        }
        return all;
    }

    private Deviation part(int i, float[] hidden, ForwardBackend backend, int batch, WeightReader weights)
            throws IOException {
        int length = hidden.length / left.width() / batch;
        Output a = logits(left, leftParts.get(i), hidden, new Pass(backend, batch, length, weights));
        Output b = logits(right, rightParts.get(i), hidden, new Pass(backend, batch, length, weights));
        int columns = a.values().count() / (batch * length);
        return Deviation.of(a, b, columns, columns);
    }

    private static Output logits(LayeredModel model, HeadPart part, float[] hidden, Pass pass) throws IOException {
        try (pass) {
            return Output.of(pass, model.logits(pass, pass.input(hidden, model.width()), part));
        }
    }
}
