package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PieceUnionTest {
    private final StoredTensor whole;
    private final StoredTensor other;

    PieceUnionTest() throws Exception {
        Shape shape = Shape.of(6, 4);
        whole = StoredTensor.contiguous("t", DType.F32, shape, ByteSource.of("a", new byte[96]), 0);
        other = StoredTensor.contiguous("t", DType.F32, shape, ByteSource.of("b", new byte[96]), 0);
    }

    @Test
    void quartersOfOneTensorBecomeOnePiece() {
        List<Piece> joined = PieceUnion.of(List.of(
                part(whole, 3, 2, 3, 2), part(whole, 0, 0, 3, 2), part(whole, 3, 0, 3, 2), part(whole, 0, 2, 3, 2)));
        assertThat(joined).hasSize(1);
        assertThat(joined.get(0).box()).hasToString("[0:6, 0:4]");
        assertThat(joined.get(0).data().offset()).isZero();
    }

    @Test
    void piecesWithAGapBetweenThemStayApart() {
        assertThat(PieceUnion.of(List.of(part(whole, 0, 0, 2, 4), part(whole, 3, 0, 3, 4))))
                .hasSize(2);
    }

    @Test
    void neighboursInTheTensorThatAreNoneInTheFileStayApart() {
        assertThat(PieceUnion.of(List.of(part(whole, 0, 0, 3, 4), part(other, 3, 0, 3, 4))))
                .hasSize(2);
        Piece moved = new Piece(new long[] {3, 0}, whole.narrow(0, 0, 3));
        assertThat(PieceUnion.of(List.of(part(whole, 0, 0, 3, 4), moved))).hasSize(2);
    }

    @Test
    void neighboursOfOtherWidthStayApart() {
        assertThat(PieceUnion.of(List.of(part(whole, 0, 0, 3, 4), part(whole, 3, 0, 3, 2))))
                .hasSize(2);
    }

    private static Piece part(StoredTensor data, long row, long column, long rows, long columns) {
        long[] at = {row, column};
        return new Piece(at, data.narrow(at, new long[] {rows, columns}));
    }
}
