package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

final class Crc32CombinerTest {
    @Test
    void checksumsOfTwoPartsCombineToThatOfTheWhole() {
        Cases.forAll(500, random -> {
            byte[] whole = new byte[random.nextInt(1, 1 << random.nextInt(1, 17))];
            random.nextBytes(whole);
            int cut = random.nextInt(whole.length + 1);
            int second = crc(whole, cut, whole.length - cut);
            assertThat(Crc32Combiner.combine(crc(whole, 0, cut), second, whole.length - cut))
                    .isEqualTo(crc(whole, 0, whole.length));
        });
    }

    @Test
    void termsOfPartsAddUpInAnyOrder() {
        byte[] whole = new byte[10_000];
        Cases.random(1).nextBytes(whole);
        int sum = 0;
        for (int part : new int[] {7, 2, 9, 0, 5, 1, 8, 3, 6, 4}) {
            sum ^= Crc32Combiner.shift(crc(whole, part * 1000, 1000), 9000L - part * 1000L);
        }
        assertThat(sum).isEqualTo(crc(whole, 0, whole.length));
    }

    @Test
    void lengthsBeyondFourGibibytesCombine() {
        byte[] zeros = new byte[1 << 20];
        CRC32 long5g = new CRC32();
        long5g.update(1);
        for (int mebibyte = 0; mebibyte < 5 << 10; mebibyte++) {
            long5g.update(zeros);
        }
        CRC32 five = new CRC32();
        for (int mebibyte = 0; mebibyte < 5 << 10; mebibyte++) {
            five.update(zeros);
        }
        int first = crc(new byte[] {1}, 0, 1);
        assertThat(Crc32Combiner.combine(first, (int) five.getValue(), 5L << 30))
                .isEqualTo((int) long5g.getValue());
    }

    private static int crc(byte[] bytes, int from, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }
}
