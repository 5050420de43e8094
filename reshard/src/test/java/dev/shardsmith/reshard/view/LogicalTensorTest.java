package dev.shardsmith.reshard.view;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class LogicalTensorTest {
    private final AtomicInteger lookups = new AtomicInteger();
    private final LogicalTensor tensor = LogicalTensor.lazy("t", DType.U8, Shape.of(3), "whole", () -> {
        lookups.incrementAndGet();
        return List.of(
                Piece.whole(StoredTensor.contiguous("t", DType.U8, Shape.of(3), ByteSource.of("t", new byte[3]), 0)));
    });

    @Test
    void piecesAreLookedUpOnceForAllWhoUseThemAtATime() throws Exception {
        List<Piece> pieces = tensor.pieces();
        assertThat(tensor.pieces()).isSameAs(pieces);
        assertThat(tensor.named("other").pieces()).isSameAs(pieces);
        assertThat(lookups).hasValue(1);
    }

    @Test
    void piecesThatNobodyUsesTakeNoMemory() throws Exception {
        WeakReference<Object> first = new WeakReference<>(tensor.pieces().get(0));
        for (int i = 0; i < 100 && first.get() != null; i++) {
            System.gc();
        }
        assertThat(first.get()).isNull();
        assertThat(tensor.pieces()).hasSize(1);
        assertThat(lookups).hasValue(2);
    }
}
