package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class GlobTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {
                "* decoder.layers.0.mixer.D true",
                "decoder.layers.0.* decoder.layers.0.mixer.D true",
                "decoder.layers.0.* decoder.layers.01.mixer.D false",
                "*.weight decoder.weights false",
                "layers.?.D layers.7.D true",
                "layers.?.D layers.77.D false",
                "layers.[0-3].D layers.2.D true",
                "layers.[!0-3].D layers.2.D false",
                "*.{weight,bias} a.bias true",
                "*.{weight,bias} a.scale false",
                "a,b a,b true",
                "a.b aXb false",
                "a(b)+ a(b)+ true",
                "list[0].x list[0].x true",
                "a}b a}b true",
            })
    void matchesTheWholeName(String glob, String name, boolean expected) throws UsageException {
        assertThat(Glob.of(glob).test(name)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a[0", "a[]", "a{b", "a[9-0]", "a[!]"})
    void whatIsNoPatternIsRefused(String glob) {
        assertThatThrownBy(() -> Glob.of(glob))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(glob);
    }

    @Test
    void namesWithLineBreaksMatchToo() throws UsageException {
        assertThat(Glob.of("a*b").test("a\nb")).isTrue();
    }
}
