package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.TensorForm;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.TensorDigest;
import dev.shardsmith.verify.digest.TensorReading;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Compares what the elements of tensors do not tell: scales of quantized ones, shapes of sparse ones. */
final class FormDiff {
    private final Map<String, StateDifference> differences;

    private FormDiff(Map<String, StateDifference> differences) {
        this.differences = differences;
    }

    static FormDiff of(ModelView left, ModelView right, DiffOptions options) throws IOException {
        Set<String> names = new LinkedHashSet<>(left.forms().keySet());
        names.addAll(right.forms().keySet());
        Map<String, StateDifference> differences = new LinkedHashMap<>();
        for (String name : names) {
            String ours = text(left, name);
            String theirs = text(right, name);
            if (options.compares(name) && !ours.equals(theirs)) {
                differences.put(name, new StateDifference(name, ours, theirs));
            }
        }
        return new FormDiff(differences);
    }

    /** The comparisons of tensors, of which those are different that have another form. */
    List<TensorDiff> applyTo(List<TensorDiff> tensors) {
        return tensors.stream().map(this::applyTo).toList();
    }

    private TensorDiff applyTo(TensorDiff diff) {
        StateDifference form = differences.get(diff.name());
        if (form == null || diff.left().isEmpty() || diff.right().isEmpty()) {
            return diff;
        }
        String words = or(form.left()) + " against " + or(form.right());
        Status status = diff.status() == Status.SAME ? Status.DIFFERENT : diff.status();
        String note = diff.note().isEmpty() ? words : diff.note() + "; " + words;
        return new TensorDiff(diff.name(), status, diff.left(), diff.right(), diff.comparison(), note);
    }

    private static String or(String form) {
        return form.isEmpty() ? "plain" : form;
    }

    /** The differences of tensors whose elements cannot be compared one by one. */
    List<StateDifference> ofOthers(ModelView left, ModelView right) {
        List<StateDifference> others = new ArrayList<>();
        for (StateDifference difference : differences.values()) {
            if (!left.tensors().containsKey(difference.path())
                    || !right.tensors().containsKey(difference.path())) {
                others.add(difference);
            }
        }
        return others;
    }

    private static String text(ModelView view, String name) throws IOException {
        TensorForm form = view.forms().get(name);
        if (form == null) {
            return "";
        }
        StringBuilder text = new StringBuilder(form.text());
        for (LogicalTensor part : form.parts()) {
            TensorDigest digest = TensorDigest.of(TensorReading.of(part), BlockReader.ofThisThread());
            text.append(", ").append(part).append(" sha256 ").append(digest.sha256Hex(), 0, 16);
        }
        return text.toString();
    }
}
