package dev.shardsmith.cli.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "65536, 65536",
        "512M, 536870912",
        "4G, 4294967296",
        "4g, 4294967296",
        "4GB, 4294967296",
        "4GiB, 4294967296",
        "4 GiB, 4294967296",
        "1K, 1024",
        "2T, 2199023255552",
        "8191P, 9222246136947933184"
    })
    void parsesSizes(String text, long bytes) {
        assertThat(ByteSize.parse(text)).hasValue(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "G", "-1", "1.5G", "4X", "8192P", "99999999999999999999", "4 4"})
    void refusesWhatIsNoSize(String text) {
        assertThat(ByteSize.parse(text)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "1023, 1023 B",
        "1024, 1.00 KiB",
        "1536, 1.50 KiB",
        "10240, 10.0 KiB",
        "104857600, 100 MiB",
        "1073741823, 1.00 GiB",
        "9223372036854775807, 8192 PiB"
    })
    void formatsThreeDigits(long bytes, String text) {
        assertThat(ByteSize.format(bytes)).isEqualTo(text);
    }
}
