package dev.shardsmith.cli.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class WrappingTest {
    private static final Terminal FORTY = Terminal.of(Map.of("SHARDSMITH_TERMINAL", "err", "COLUMNS", "40"));
    private static final String MESSAGE = "shardsmith: 4 ranks cannot hold this model: 2 groups of heads\n"
            + "  at: backbone.layers.0.mixer.in_proj.weight\n"
            + "  try: sizes that divide it: 1, 2, and no others up to 64";

    @Test
    void aMessageOnATerminalHangsBelowItsFirstWords() {
        assertThat(Wrapping.message(MESSAGE, FORTY)).isEqualTo("""
                shardsmith: 4 ranks cannot hold this
                  model: 2 groups of heads
                  at:
                    backbone.layers.0.mixer.in_proj.weight
                  try: sizes that divide it: 1, 2, and
                    no others up to 64""");
    }

    @Test
    void aMessageInALogIsOneLineAStatement() {
        assertThat(Wrapping.message(MESSAGE, Terminal.NONE)).isEqualTo(MESSAGE);
    }

    @Test
    void aWordThatIsTooLongStaysWhole() {
        assertThat(Wrapping.lines("a " + "b".repeat(50) + " c", 10)).containsExactly("a", "b".repeat(50), "c");
    }
}
