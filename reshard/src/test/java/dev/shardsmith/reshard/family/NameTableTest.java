package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NameTableTest {
    private static final List<String> NAMES = List.of(
            "embedding.word_embeddings.weight",
            "decoder.layers.1.mixer.D",
            "decoder.layers.1.norm.weight",
            "decoder.layers.12.mixer.D",
            "decoder.layers.12.norm.weight",
            "decoder.layers.12.norm.weight.more",
            "decoder.layers.1.norm.weight2",
            "decoder.layers.12.",
            "decoder.layers.mixer.D",
            "mtp.layers.0.enorm.weight",
            "mtp.layers.0.mtp_model_layer.layers.3.mixer.D",
            "mtp.layers.0.mtp_model_layer.mixer.D",
            "mtp.layers.0.",
            "decoder.layers.2.mixer.D",
            "decoder.layers.2.mixer.D");

    @Test
    void aNameIsTakenApartAsByItselfWhateverStandsBeforeIt() {
        List<String> names = new ArrayList<>();
        for (int round = 0; round < 200; round++) {
            List<String> shuffled = new ArrayList<>(NAMES);
            Collections.shuffle(shuffled, new Random(round));
            names.addAll(shuffled);
        }

        NameTable table = NameTable.of(names);

        for (int i = 0; i < names.size(); i++) {
            MegatronName expected = MegatronName.parse(names.get(i));
            MegatronName prefix = table.prefixes().get(table.prefix(i));
            MegatronName suffix = table.suffixes().get(table.suffix(i));
            assertThat(table.name(i)).isEqualTo(names.get(i));
            assertThat(prefix.prefix()).isEqualTo(expected.prefix());
            assertThat(prefix.layer()).isEqualTo(expected.layer());
            assertThat(suffix.suffix()).isEqualTo(expected.suffix());
            assertThat(suffix.scope()).isEqualTo(expected.scope());
            assertThat(prefix.scope()).isEqualTo(expected.scope());
        }
    }

    @Test
    void layersShareTheirSuffixes() {
        NameTable table = NameTable.of(
                List.of("decoder.layers.0.a", "decoder.layers.0.b", "decoder.layers.7.a", "decoder.layers.7.b"));

        assertThat(table.suffixes()).hasSize(2);
        assertThat(table.prefixes()).hasSize(2);
        assertThat(table.suffix(2)).isEqualTo(table.suffix(0));
        assertThat(table.prefix(3)).isEqualTo(table.prefix(2)).isNotEqualTo(table.prefix(1));
    }

    @Test
    void aSelectionHasTheSameNamesAndTakesMore() {
        NameTable table = NameTable.of(NAMES).select(new int[] {3, 0, 3});
        table.add("decoder.layers.1.mixer.D");

        assertThat(table.size()).isEqualTo(4);
        assertThat(table.name(0)).isEqualTo(NAMES.get(3));
        assertThat(table.name(1)).isEqualTo(NAMES.get(0));
        assertThat(table.name(3)).isEqualTo(NAMES.get(1));
        assertThat(table.suffix(3)).isEqualTo(table.suffix(2));
    }
}
