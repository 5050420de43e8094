package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.region.Shares;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Tensors of which a plan gives some files more than others, with what each file gets; the same in all layers is said once. */
final class UnevenShares {
    private static final int MOST_TOLD = 12;

    private record Group(String names, Shares shares, List<String> tensors) {}

    private final List<Group> groups;

    private UnevenShares(List<Group> groups) {
        this.groups = groups;
    }

    static UnevenShares of(Plan plan) {
        Map<String, Group> groups = new LinkedHashMap<>();
        for (TensorMove move : plan.moves()) {
            Shares.Builder builder = new Shares.Builder(move.shape());
            for (Piece piece : move.targets()) {
                if (piece.data().source() instanceof TargetSlot slot) {
                    builder.add(slot.file(), piece.box());
                }
            }
            Shares shares = builder.build();
            if (shares.uneven()) {
                String names = move.tensor().replaceAll("\\blayers\\.\\d+\\.", "layers.*.");
                groups.computeIfAbsent(
                                names + move.shape() + shares.boxes(),
                                key -> new Group(names, shares, new ArrayList<>()))
                        .tensors()
                        .add(move.tensor());
            }
        }
        return new UnevenShares(List.copyOf(groups.values()));
    }

    void print(Out out) {
        for (Group group : groups.subList(0, Math.min(MOST_TOLD, groups.size()))) {
            boolean one = group.tensors().size() == 1;
            out.field(
                    "uneven",
                    "%s %s, %s"
                            .formatted(
                                    one ? group.tensors().get(0) : group.names(),
                                    group.shares().shape(),
                                    group.shares().axis().getAsInt() == 0 ? "rows" : "columns"));
            for (String file : group.shares().boxes().keySet()) {
                out.field("", "  %s: %s".formatted(file, ranges(group.shares(), file)));
            }
        }
        if (groups.size() > MOST_TOLD) {
            out.field("uneven", "and %d more; --json lists all".formatted(groups.size() - MOST_TOLD));
        }
    }

    private static String ranges(Shares shares, String file) {
        return shares.ranges(file).stream()
                .map(range -> range[1] - range[0] == 1 ? "" + range[0] : range[0] + "-" + (range[1] - 1))
                .collect(Collectors.joining(", "));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("uneven");
        for (Group group : groups) {
            json.writeStartObject();
            json.writeArrayFieldStart("tensors");
            for (String name : group.tensors()) {
                json.writeString(name);
            }
            json.writeEndArray();
            JsonParts.shape(json, "shape", group.shares().shape());
            json.writeNumberField("axis", group.shares().axis().getAsInt());
            json.writeArrayFieldStart("by");
            for (String file : group.shares().boxes().keySet()) {
                json.writeStartObject();
                json.writeStringField("file", file);
                JsonParts.ranges(json, group.shares().ranges(file));
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
