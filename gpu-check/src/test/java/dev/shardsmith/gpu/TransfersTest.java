package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class TransfersTest {
    private final FakeDriver driver = new FakeDriver();
    private final DeviceMemory memory = new DeviceMemory(driver);

    @Test
    void arraysLongerThanThePinnedBuffersComeBackWhole() throws Exception {
        Transfers transfers = new Transfers(driver);
        int buffer = Transfers.BUFFER_BYTES / Float.BYTES;
        for (int length : new int[] {0, 1, buffer, buffer + 1, 3 * buffer + 7}) {
            float[] values = new float[length];
            for (int i = 0; i < length; i++) {
                values[i] = i * 0.5f;
            }
            GpuArray array = memory.floats(length);
            transfers.in(values, array);
            assertThat(transfers.out(array, 0, length)).isEqualTo(values);
        }
    }

    @Test
    void doublesLongerThanThePinnedBuffersComeBackWhole() throws Exception {
        Transfers transfers = new Transfers(driver);
        int buffer = Transfers.BUFFER_BYTES / Double.BYTES;
        for (int length : new int[] {0, 1, buffer, 2 * buffer + 3}) {
            double[] values = new double[length];
            for (int i = 0; i < length; i++) {
                values[i] = i + 0x1p-30;
            }
            GpuArray array = memory.doubles(length);
            transfers.in(values, array);
            assertThat(transfers.outWide(array)).isEqualTo(values);
        }
    }

    @Test
    void integersKeepTheirBits() throws Exception {
        Transfers transfers = new Transfers(driver);
        int[] values = {0, -1, 0x7f800001, Integer.MIN_VALUE};
        GpuArray array = memory.array(values.length, Integer.BYTES);
        transfers.in(values, array);
        float[] bits = transfers.out(array, 0, values.length);
        assertThat(Float.floatToRawIntBits(bits[1])).isEqualTo(-1);
        assertThat(Float.floatToRawIntBits(bits[3])).isEqualTo(Integer.MIN_VALUE);
    }

    @Test
    void aPartIsReadFromItsPlace() throws Exception {
        Transfers transfers = new Transfers(driver);
        GpuArray array = memory.floats(5);
        transfers.in(new float[] {1, 2, 3, 4, 5}, array);
        float[] into = new float[4];
        transfers.out(array, 2, into, 1, 3);
        assertThat(into).containsExactly(0, 3, 4, 5);
    }
}
