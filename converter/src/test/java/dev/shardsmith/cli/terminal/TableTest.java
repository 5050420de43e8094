package dev.shardsmith.cli.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class TableTest {
    @Test
    void columnsAreAsWideAsTheirCells() {
        Table table = new Table()
                .column("name", Table.Align.LEFT)
                .column("bytes", Table.Align.RIGHT)
                .row("D", "16")
                .row("A_log", "123456");

        assertThat(table.lines(Terminal.NONE)).containsExactly("name    bytes", "D          16", "A_log  123456");
    }

    @Test
    void theWidestColumnIsShortenedInItsMiddleToFitTheTerminal() {
        Table table = new Table()
                .column("name", Table.Align.LEFT)
                .column("shape", Table.Align.LEFT)
                .row("decoder.layers.0.self_attention.linear_qkv.layer_norm_weight", "[64]");

        assertThat(table.lines(Terminal.of(Map.of("COLUMNS", "40"))))
                .containsExactly(
                        "name                               shape",
                        "decoder.layers.0…v.layer_norm_weight  [64]"
                                .replace("decoder.layers.0…v.layer_norm_weight", "decoder.layers.0…ayer_norm_weight"));
    }

    @Test
    void aProgramThatReadsTheTableGetsWholeNames() {
        Table table = new Table().column("name", Table.Align.LEFT).row("x".repeat(500));

        assertThat(table.lines(Terminal.of(Map.of())).get(1)).isEqualTo("x".repeat(500));
    }

    @Test
    void charactersOutsideTheBasicPlaneAreNotCutInHalf() {
        Table table = new Table().column("name", Table.Align.LEFT).row("😀".repeat(60));

        assertThat(table.lines(Terminal.of(Map.of("COLUMNS", "40"))).get(1))
                .isEqualTo("😀".repeat(19) + "…" + "😀".repeat(20));
    }

    @Test
    void aRowNeedsOneCellPerColumn() {
        Table table = new Table().column("name", Table.Align.LEFT);

        assertThatThrownBy(() -> table.row("a", "b")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aNameThatIsTooWideStandsWholeOnALineOfItsOwn() {
        Table table = new Table()
                .nameColumn("name")
                .column("size", Table.Align.RIGHT)
                .row("decoder.layers.0.mixer.in_proj.weight", "16 KiB")
                .row("D", "4 B");

        assertThat(table.lines(Terminal.of(Map.of("COLUMNS", "40"))))
                .containsExactly(
                        "name                                size",
                        "decoder.layers.0.mixer.in_proj.weight",
                        "                                  16 KiB",
                        "D                                    4 B");
        assertThat(table.lines(Terminal.NONE).get(1)).isEqualTo("decoder.layers.0.mixer.in_proj.weight  16 KiB");
    }

    @Test
    void detailsStandBelowTheirRow() {
        Table table = new Table()
                .nameColumn("name")
                .column("status", Table.Align.LEFT)
                .row("old", "renamed")
                .detail("now called by another name, which takes more than one line")
                .row("same", "same");

        assertThat(table.lines(Terminal.of(Map.of("COLUMNS", "40"))))
                .containsExactly(
                        "name  status",
                        "old   renamed",
                        "    now called by another name, which",
                        "    takes more than one line",
                        "same  same");
    }
}
