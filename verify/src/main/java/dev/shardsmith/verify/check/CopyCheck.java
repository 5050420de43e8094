package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/** Whether copies of a tensor on several ranks hold the same, bit for bit; only one of them takes part in a forward pass. */
final class CopyCheck {
    private static final int BLOCK = 1 << 20;

    private CopyCheck() {}

    /** A row for each copy that differs. */
    static List<LayerRow> differences(LayeredModel model, String side, int index, IntPredicate layers)
            throws IOException {
        List<LayerRow> rows = new ArrayList<>();
        for (Remainder.Copy copy : model.remainder().copies()) {
            if (copy.layer().map(layers::test).orElse(true) && !same(copy.first(), copy.other(), model.width())) {
                rows.add(LayerRow.missing(
                        index + rows.size(),
                        copy.layer(),
                        "copies",
                        "in the " + side + " checkpoint, " + copy.name() + " differs from its first copy"));
            }
        }
        return rows;
    }

    private static boolean same(WeightSource first, WeightSource other, int width) throws IOException {
        if (first.elements() != other.elements()) {
            return false;
        }
        if (first.elements() <= BLOCK || first.elements() % width != 0) {
            return same(first.load(), other.load());
        }
        int rows = Math.max(1, BLOCK / width);
        int all = first.elements() / width;
        for (int from = 0; from < all; from += rows) {
            int count = Math.min(rows, all - from);
            if (!same(
                    first.rows(width, from, count).load(),
                    other.rows(width, from, count).load())) {
                return false;
            }
        }
        return true;
    }

    private static boolean same(float[] a, float[] b) {
        for (int i = 0; i < a.length; i++) {
            if (Float.floatToRawIntBits(a[i]) != Float.floatToRawIntBits(b[i])) {
                return false;
            }
        }
        return true;
    }
}
