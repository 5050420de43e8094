package dev.shardsmith.reshard.family;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The parameters of mamba_ssm's models and how a tensor-parallel run divides each.
 *
 * <p>Columns: kind of mixer or {@code any}; key after the layer prefix; axis, {@code -} for replicated, {@code 0!} for "rank 0 only";
 * parts along the axis as {@code name=width}, {@code ^} marking a part that every rank holds whole.
 */
final class MambaTable {
    private static final String ROWS = """
            any       norm.weight            -
            any       norm.bias              -
            any       norm2.weight           -
            any       norm2.bias             -
            any       mlp.fc1.weight         0   up=h,gate=h
            any       mlp.fc1.bias           0   up=h,gate=h
            any       mlp.fc2.weight         1   h=h
            any       mlp.fc2.bias           0!
            any       mixer.out_proj.bias    0!
            mamba1    mixer.A_log            0   di=di
            mamba1    mixer.D                0   di=di
            mamba1    mixer.in_proj.weight   0   x=di,z=di
            mamba1    mixer.in_proj.bias     0   x=di,z=di
            mamba1    mixer.conv1d.weight    0   x=di
            mamba1    mixer.conv1d.bias      0   x=di
            mamba1    mixer.x_proj.weight    1   di=di
            mamba1    mixer.dt_proj.weight   0   di=di
            mamba1    mixer.dt_proj.bias     0   di=di
            mamba1    mixer.out_proj.weight  1   di=di
            mamba2    mixer.dt_bias          0   H=H
            mamba2    mixer.A_log            0   H=H
            mamba2    mixer.D                0   D=D
            mamba2    mixer.in_proj.weight   0   z0=dm,x0=dm,z=ds,x=ds,B=GN,C=GN,dt=H
            mamba2    mixer.in_proj.bias     0   z0=dm,x0=dm,z=ds,x=ds,B=GN,C=GN,dt=H
            mamba2    mixer.conv1d.weight    0   x=ds,B=GN,C=GN
            mamba2    mixer.conv1d.bias      0   x=ds,B=GN,C=GN
            mamba2    mixer.norm.weight      0   ds=ds
            mamba2    mixer.out_proj.weight  1   bypass=dm,ssm=ds
            mamba3    mixer.dt_bias          0   H=H
            mamba3    mixer.B_bias           0   H=H
            mamba3    mixer.C_bias           0   H=H
            mamba3    mixer.mimo_x           0   H=H
            mamba3    mixer.mimo_z           0   H=H
            mamba3    mixer.mimo_o           0   H=H
            mamba3    mixer.D                0   H=H
            mamba3    mixer.in_proj.weight   0   z=di,x=di,B#=GN,C#=GN,dd_dt=H,dd_A=H,trap=H,angle^=angle
            mamba3    mixer.B_norm.weight    -
            mamba3    mixer.C_norm.weight    -
            mamba3    mixer.norm.weight      0   di=di
            mamba3    mixer.out_proj.weight  1   di=di
            attention mixer.in_proj.weight   0   q=q,k=kv,v=kv,up=mlp,gate=mlp
            attention mixer.in_proj.bias     0   q=q,k=kv,v=kv,up=mlp,gate=mlp
            attention mixer.conv1d.weight    0   q=q,k=kv,v=kv
            attention mixer.conv1d.bias      0   q=q,k=kv,v=kv
            attention mixer.out_proj.weight  1   attn=q,mlp=mlp
            none      backbone.embedding.weight                      0   V=V
            none      backbone.embedding.word_embeddings.weight      0   V=V
            none      backbone.embedding.position_embeddings.weight  1   d=d
            none      lm_head.weight                                 0   V=V
            none      backbone.norm_f.weight                         -
            none      backbone.norm_f.bias                           -
            none      column.weight                                  0   =any
            none      column.bias                                    0   =any
            none      row.weight                                     1   =any
            none      row.bias                                       0!
            """;

    private static final Map<String, List<Row>> TABLE = parse().stream().collect(Collectors.groupingBy(Row::suffix));

    /**
     * One row.
     *
     * @param kind kind of mixer, empty for any
     * @param suffix key after the layer prefix
     * @param axis the axis that is cut, or -1
     * @param rankZero true if only rank 0 has it
     * @param parts parts along the axis
     */
    record Row(Optional<MambaSizes.Kind> kind, String suffix, int axis, boolean rankZero, List<Part> parts) {}

    /**
     * A part along the cut axis.
     *
     * @param name the field's name; {@code B#} is repeated for each rank of Mamba-3's MIMO form
     * @param width symbol of its width; V, d and any stand for the whole axis
     * @param shared true if every rank holds it whole
     */
    record Part(String name, String width, boolean shared) {}

    private MambaTable() {}

    /** The row of a parameter. */
    static Optional<Row> find(String suffix, MambaSizes.Kind kind) {
        return TABLE.getOrDefault(suffix, List.of()).stream()
                .filter(row -> row.kind().map(kind::equals).orElse(true))
                .findFirst();
    }

    private static List<Row> parse() {
        List<Row> rows = new ArrayList<>();
        for (String line : ROWS.lines().toList()) {
            String[] cells = line.trim().split(" +");
            Optional<MambaSizes.Kind> kind = cells[0].equals("any")
                    ? Optional.empty()
                    : Optional.of(MambaSizes.Kind.valueOf(cells[0].toUpperCase(Locale.ROOT)));
            List<Part> parts = new ArrayList<>();
            if (cells.length > 3) {
                for (String part : cells[3].split(",")) {
                    String[] sides = part.split("=");
                    boolean shared = sides[0].endsWith("^");
                    parts.add(new Part(sides[0].replace("^", ""), sides[1], shared));
                }
            }
            int axis = cells[2].equals("-") || cells[2].equals("0!") ? -1 : Integer.parseInt(cells[2]);
            rows.add(new Row(kind, cells[1], axis, cells[2].equals("0!"), List.copyOf(parts)));
        }
        return List.copyOf(rows);
    }
}
