package dev.shardsmith.reshard.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.layout.Conversion;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class PlannerTest {
    private static ModelView holding(long... firstRows) throws IOException {
        StoredTensor data =
                StoredTensor.contiguous("w", DType.U8, Shape.of(2, 3), ByteSource.of("bytes", new byte[6]), 0);
        List<Piece> pieces = Arrays.stream(firstRows)
                .mapToObj(row -> new Piece(new long[] {row, 0}, data))
                .toList();
        return new ModelViewBuilder(Path.of("made"), new FilePool(), Layout.PT)
                .add(LogicalTensor.of("w", DType.U8, Shape.of(4, 3), "", pieces, List.of()))
                .build();
    }

    @Test
    void piecesThatFillATensorArePlanned() throws Exception {
        Plan plan = Conversion.plan(holding(0, 2), ConversionOptions.none());
        assertThat(plan.ledger().usedElements()).isEqualTo(12);
    }

    @Test
    void aMissingPieceStopsThePlan() {
        assertThatThrownBy(() -> Conversion.plan(holding(0), ConversionOptions.none()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("6 of 12 elements");
    }

    @Test
    void overlappingPiecesStopThePlan() {
        assertThatThrownBy(() -> Conversion.plan(holding(0, 1, 2), ConversionOptions.none()))
                .hasMessageContaining("overlap");
    }
}
