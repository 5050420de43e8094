package dev.shardsmith.formats.dcp;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;

class DcpFuzzTest {
    @FuzzTest(maxDuration = "60s")
    void anyMetadataGivesEntriesOrOneError(byte[] data) throws IOException {
        try {
            DcpMetadata metadata = DcpMetadataReader.read(ByteSource.of("fuzz", data));
            for (int entry = 0; entry < metadata.size(); entry++) {
                metadata.plannerPath(metadata.name(entry));
                for (int row = metadata.firstRow(entry);
                        row < metadata.firstRow(entry) + metadata.rowCount(entry);
                        row++) {
                    metadata.offsets(entry, row);
                    metadata.transforms(row);
                }
            }
        } catch (CheckpointException expected) {
            // The only error that bad bytes may cause.
        }
    }
}
