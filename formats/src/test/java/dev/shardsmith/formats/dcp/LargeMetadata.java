package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyStr;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/** The {@code .metadata} of a checkpoint of very many tensors, without its data. */
final class LargeMetadata {
    private LargeMetadata() {}

    /**
     * Writes {@code .metadata} into a folder.
     *
     * @param arguments the folder, the number of tensors, and {@code megatron} for names that Megatron's table of parameters has,
     *     {@code stacked} for as many chunks of few tensors, as {@code shardsmith sample} makes them
     */
    public static void main(String[] arguments) throws IOException {
        if (arguments[2].equals("stacked")) {
            Files.write(Path.of(arguments[0], ".metadata"), stacked(Integer.parseInt(arguments[1])));
            return;
        }
        IntFunction<String> names = arguments[2].equals("megatron") ? LargeMetadata::megatron : LargeMetadata::plain;
        Files.write(Path.of(arguments[0], ".metadata"), of(Integer.parseInt(arguments[1]), names));
    }

    /** Names of modules that no family has. */
    static String plain(int i) {
        return "blocks." + i / 64 + ".experts." + i % 64 + ".weight";
    }

    /** Experts of layers, each a tensor of its own. */
    static String megatron(int i) {
        String projection = i % 2 == 0 ? ".linear_fc1.weight" : ".linear_fc2.weight";
        return "decoder.layers." + i / 1024 + ".mlp.experts.experts." + i % 1024 / 2 + projection;
    }

    /** The file's bytes. */
    static byte[] of(int entries, IntFunction<String> names) {
        DcpMetadataWriter writer = new DcpMetadataWriter();
        List<DcpImage.Chunk> chunks = List.of(new DcpImage.Chunk(new long[] {0, 0}, new long[] {1024, 2048}, "", 0));
        writer.begin();
        for (int i = 0; i < entries; i++) {
            writer.tensor(names.apply(i), DType.BF16, Shape.of(1024, 2048), chunks);
        }
        writer.beginPaths(true);
        for (int i = 0; i < entries; i++) {
            String name = names.apply(i);
            writer.path(name, Arrays.stream(name.split("\\.")).map(PyStr::new).toList());
        }
        writer.beginPlaces();
        for (int i = 0; i < entries; i++) {
            long offset = i / 512 * 4_200_000L;
            DcpMetadataWriter.Item item = new DcpMetadataWriter.Item(i % 512, offset, 4_195_840);
            writer.place(names.apply(i), Optional.of(new long[2]), 0, item);
        }
        return writer.end();
    }

    /** A table of stacks of experts, each expert a chunk. */
    static byte[] stacked(int chunks) {
        int experts = Math.min(chunks, 8192);
        DcpMetadataWriter writer = new DcpMetadataWriter();
        List<DcpImage.Chunk> ofStack = new ArrayList<>();
        for (int expert = 0; expert < experts; expert++) {
            ofStack.add(new DcpImage.Chunk(new long[] {expert, 0, 0}, new long[] {1, 8, 4}, "", 0));
        }
        writer.begin();
        for (int layer = 0; layer < chunks / experts; layer++) {
            writer.tensor(stack(layer), DType.BF16, Shape.of(experts, 8, 4), ofStack);
        }
        writer.beginPaths(false);
        writer.beginPlaces();
        for (int i = 0; i < chunks / experts * experts; i++) {
            long[] offset = {i % experts, 0, 0};
            DcpMetadataWriter.Item item = new DcpMetadataWriter.Item(i % 4, i / 4 * 1500L, 1500);
            writer.place(stack(i / experts), Optional.of(offset), i % experts, item);
        }
        return writer.end();
    }

    private static String stack(int layer) {
        return "decoder.layers." + layer + ".mlp.experts.experts.linear_fc1.weight";
    }
}
