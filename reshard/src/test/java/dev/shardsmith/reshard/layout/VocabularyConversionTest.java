package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rows of the vocabulary: how many are real, how many a run of other sizes has, and what the others hold. */
class VocabularyConversionTest {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final int HIDDEN = 8;
    private static final int REAL = 101;

    @TempDir
    Path folder;

    private MegatronRuns runs;
    private Path padded;

    /** 101 real rows, padded to a multiple of 16. */
    @BeforeEach
    void writePadded() throws Exception {
        runs = new MegatronRuns(folder);
        padded = runs.sample(spec(112), o -> {
            o.set.put("make_vocab_size_divisible_by", "16");
            o.set.put("vocab_size", Integer.toString(REAL));
        });
    }

    private static SampleSpec spec(long rows) {
        return new SampleSpec(
                "M", HIDDEN, rows, 1, 1, HIDDEN, 4, 4, 4, 4, 16, false, false, false, true, true, 1, 8, 0, true,
                DType.F32, 3);
    }

    private static float[] rows(Path root) throws Exception {
        try (ModelView view = MegatronRuns.open(root)) {
            ByteBuffer bytes = ByteBuffer.wrap(Tensors.bytes(view.tensors().get(EMBEDDING)))
                    .order(ByteOrder.LITTLE_ENDIAN);
            float[] values = new float[bytes.remaining() / 4];
            bytes.asFloatBuffer().get(values);
            return values;
        }
    }

    private static long padded(Path root) throws Exception {
        try (ModelView view = MegatronRuns.open(root)) {
            return view.state().args().orElseThrow().integer("padded_vocab_size", -1);
        }
    }

    @ParameterizedTest
    @CsvSource({"1,112", "2,128", "4,128"})
    void paddingIsComputedAnewFromTheRealRows(int tensor, int expected) throws Exception {
        Path out = runs.convert(padded, o -> o.tensor = OptionalInt.of(tensor));
        float[] before = rows(padded);
        float[] after = rows(out);
        assertThat(after).hasSize(expected * HIDDEN);
        assertThat(padded(out)).isEqualTo(expected);
        assertThat(Arrays.copyOf(after, REAL * HIDDEN)).isEqualTo(Arrays.copyOf(before, REAL * HIDDEN));
        Path back = runs.convert(out, o -> {
            o.tensor = OptionalInt.of(1);
            o.stripPadding = true;
        });
        assertThat(rows(back)).isEqualTo(Arrays.copyOf(before, REAL * HIDDEN));
        assertThat(padded(back)).isEqualTo(REAL);
    }

    @Test
    void realRowsMayBeGivenWhereNothingTellsThem() throws Exception {
        Path untold = runs.sample(spec(112), o -> o.set.put("make_vocab_size_divisible_by", "16"));
        Path kept = runs.convert(untold, o -> o.tensor = OptionalInt.of(4));
        assertThat(rows(kept)).hasSize(112 * HIDDEN);
        Path out = runs.convert(untold, o -> {
            o.tensor = OptionalInt.of(4);
            o.vocabulary = OptionalLong.of(REAL);
        });
        assertThat(rows(out)).hasSize(128 * HIDDEN);
        assertThatThrownBy(() -> runs.convert(untold, o -> o.stripPadding = true))
                .hasMessageContaining("number of real vocabulary rows is not known: 112 rows are stored");
    }

    @Test
    void everyRankHasItsPartOfTheRows() throws Exception {
        Path out = runs.convert(runs.sample(spec(32), o -> {}), o -> o.tensor = OptionalInt.of(4));
        try (ModelView view = MegatronRuns.open(out)) {
            assertThat(view.ranks()).hasSize(4);
            view.ranks()
                    .forEach(rank -> assertThat(
                                    rank.tensors().get(EMBEDDING).shape().toString())
                            .isEqualTo("[8, 8]"));
        }
    }

    @ParameterizedTest
    @CsvSource({"ZERO", "REPEAT_LAST", "MEAN"})
    void newRowsHoldWhatIsAskedFor(Fill.Mode mode) throws Exception {
        Path stripped = runs.convert(padded, o -> o.stripPadding = true);
        float[] real = rows(stripped);
        float[] filled = rows(runs.convert(stripped, o -> {
            o.padVocabularyTo = OptionalLong.of(104);
            o.padFill = mode;
        }));
        assertThat(filled).hasSize(104 * HIDDEN);
        for (int column = 0; column < HIDDEN; column++) {
            double sum = 0;
            for (int row = 0; row < REAL; row++) {
                sum += real[row * HIDDEN + column];
            }
            float expected = switch (mode) {
                case ZERO -> 0f;
                case REPEAT_LAST -> real[(REAL - 1) * HIDDEN + column];
                case MEAN -> (float) (sum / REAL);
            };
            assertThat(filled[(REAL + 1) * HIDDEN + column]).isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @CsvSource({"ZERO", "REPEAT_LAST", "MEAN"})
    void rowsThatAreSaidToBePaddingAreFilledLikeNewOnesAndNothingIsMadeOfThem(Fill.Mode mode) throws Exception {
        int said = 90;
        Path untold = runs.sample(spec(112), o -> {});
        float[] stored = rows(untold);
        for (int tensor : new int[] {1, 4}) {
            for (int wanted : new int[] {96, 112, 120}) {
                float[] filled = rows(runs.convert(untold, o -> {
                    o.tensor = OptionalInt.of(tensor);
                    o.vocabulary = OptionalLong.of(said);
                    o.padVocabularyTo = OptionalLong.of(wanted);
                    o.padFill = mode;
                }));
                assertThat(filled).hasSize(wanted * HIDDEN);
                assertThat(Arrays.copyOf(filled, said * HIDDEN)).isEqualTo(Arrays.copyOf(stored, said * HIDDEN));
                for (int at = said * HIDDEN; at < filled.length; at++) {
                    double sum = 0;
                    for (int row = 0; row < said; row++) {
                        sum += stored[row * HIDDEN + at % HIDDEN];
                    }
                    float expected = switch (mode) {
                        case ZERO -> 0f;
                        case REPEAT_LAST -> stored[(said - 1) * HIDDEN + at % HIDDEN];
                        case MEAN -> (float) (sum / said);
                    };
                    assertThat(filled[at]).isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void storedPaddingIsCopiedWhereNobodyAsksForOther() throws Exception {
        float[] stored = rows(padded);
        float[] wider = rows(runs.convert(padded, o -> o.padVocabularyTo = OptionalLong.of(120)));
        assertThat(Arrays.copyOf(wider, stored.length)).isEqualTo(stored);
        float[] repeated = rows(runs.convert(padded, o -> {
            o.padVocabularyTo = OptionalLong.of(120);
            o.padFill = Fill.Mode.REPEAT_LAST;
        }));
        float[] last = Arrays.copyOfRange(stored, (REAL - 1) * HIDDEN, REAL * HIDDEN);
        for (int row = REAL; row < 120; row++) {
            assertThat(Arrays.copyOfRange(repeated, row * HIDDEN, (row + 1) * HIDDEN))
                    .isEqualTo(last);
        }
    }

    @Test
    void aSizeThatWouldLoseRealRowsOrLeaveARestIsRefusedWithBothNumbers() {
        refused(o -> o.padVocabularyTo = OptionalLong.of(100), "asks for 100 vocabulary rows, but 101 are real");
        refused(
                o -> {
                    o.padVocabularyTo = OptionalLong.of(106);
                    o.tensor = OptionalInt.of(4);
                },
                "asks for 106 vocabulary rows, which cannot be divided among 4");
        refused(o -> o.vocabulary = OptionalLong.of(113), "113 rows, but only 112 are stored");
    }

    private void refused(Consumer<ConversionOptions.Builder> change, String problem) {
        assertThatThrownBy(() -> runs.convert(padded, change))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(problem);
    }
}
