package dev.shardsmith.formats.safetensors;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;

class SafetensorsFuzzTest {
    @FuzzTest(maxDuration = "60s")
    void anyBytesGiveTensorsOrOneError(byte[] data) throws IOException {
        try {
            for (SafetensorsEntry entry :
                    SafetensorsFile.open(ByteSource.of("fuzz", data)).entries()) {
                if (entry.dtype().isPresent()) {
                    entry.tensor().endOffset();
                }
            }
        } catch (CheckpointException expected) {
            // The only error that bad bytes may cause.
        }
    }

    @FuzzTest(maxDuration = "60s")
    void anyHeaderGivesTensorsOrOneError(byte[] header) throws IOException {
        anyBytesGiveTensorsOrOneError(Safetensors.bytes(header, 16));
    }
}
