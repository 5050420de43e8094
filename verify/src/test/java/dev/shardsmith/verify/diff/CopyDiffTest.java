package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.Golden;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One bit of a norm's copy on the second tensor-parallel rank is flipped; the rank that counts has it right. */
final class CopyDiffTest {
    private static final String NORM = "decoder.layers.0.mixer.in_proj.layer_norm_weight";

    @TempDir
    Path folder;

    private Path damaged;
    private long offset;

    @BeforeEach
    void damage() throws IOException {
        damaged = Golden.copy(folder.resolve("c"), "megatron-legacy", "current_plain_bf16", "tp2pp2");
        StoredTensor copy;
        try (ModelView view = Golden.open(damaged)) {
            copy = view.tensors().get(NORM).replicas().get(0).data();
        }
        offset = copy.source().inFile().orElseThrow().offset() + copy.offset() + 4;
        Golden.flip(copy.source().inFile().orElseThrow().file(), offset, 0);
    }

    private static DiffResult diff(Path left, Path right, Tolerance tolerance) throws IOException {
        return diff(left, right, tolerance, OptionalLong.empty());
    }

    private static DiffResult diff(Path left, Path right, Tolerance tolerance, OptionalLong vocabulary)
            throws IOException {
        DiffOptions options = new DiffOptions(tolerance, List.of(), List.of(), vocabulary, 2);
        try (ModelView a = Golden.open(left);
                ModelView b = Golden.open(right)) {
            return new CheckpointDiff(options, done -> {}).compare(a, b);
        }
    }

    @Test
    void aFlippedBitInACopyIsADifferenceInEveryLayout() throws IOException {
        for (String layout : List.of("tp1pp1", "tp2pp1", "tp2pp2")) {
            Path sound = TestData.path("megatron-legacy", "current_plain_bf16", layout);
            DiffResult result = diff(sound, damaged, Tolerance.EXACT);
            assertThat(result.same()).as(layout).isFalse();
            assertThat(result.tensors())
                    .filteredOn(tensor -> tensor.status() == TensorDiff.Status.DIFFERENT)
                    .singleElement()
                    .satisfies(tensor -> {
                        assertThat(tensor.name()).isEqualTo(NORM);
                        assertThat(tensor.note()).contains("on another rank of B", "at byte " + offset + " of ");
                    });
            assertThat(diff(damaged, sound, Tolerance.EXACT).same()).isFalse();
        }
    }

    @Test
    void equalCopiesOnBothSidesAreNoDifference() throws IOException {
        DiffResult result = diff(damaged, damaged, Tolerance.EXACT);

        assertThat(result.same()).isTrue();
        assertThat(result.tensors())
                .filteredOn(tensor -> !tensor.note().isEmpty())
                .singleElement()
                .satisfies(tensor -> assertThat(tensor.note()).contains("on both sides alike"));
    }

    @Test
    void whatTheToleranceAllowsIsAllowedToCopies() throws IOException {
        Path sound = TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1");

        assertThat(diff(sound, damaged, new Tolerance(0, 0, 1)).same()).isTrue();
        assertThat(diff(sound, damaged, new Tolerance(0, 1e-30, 0)).same()).isFalse();
    }

    @Test
    void copiesOfPaddingDoNotCountWithATrueVocabulary() throws IOException {
        Path sound = TestData.path("megatron-legacy", "current_qkvbias_swiglu", "tp4pp2");
        Path tied = Golden.copy(folder.resolve("t"), "megatron-legacy", "current_qkvbias_swiglu", "tp4pp2");
        try (ModelView view = Golden.open(tied)) {
            // The last of four ranks has rows 48 to 63.
            StoredTensor last = view.tensors()
                    .get("embedding.word_embeddings.weight")
                    .replicas()
                    .get(3)
                    .data();
            StoredTensor row = last.narrow(0, 15, 1);
            Golden.flip(
                    row.source().inFile().orElseThrow().file(),
                    row.source().inFile().orElseThrow().offset() + row.offset(),
                    0);
        }

        assertThat(diff(sound, tied, Tolerance.EXACT).same()).isFalse();
        assertThat(diff(sound, tied, Tolerance.EXACT, OptionalLong.of(64)).same())
                .isFalse();
        assertThat(diff(sound, tied, Tolerance.EXACT, OptionalLong.of(63)).same())
                .isTrue();
        assertThat(diff(sound, tied, Tolerance.EXACT, OptionalLong.of(40)).same())
                .isTrue();
    }
}
