package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.reshard.family.NameTable;
import dev.shardsmith.reshard.family.StoredKeys;
import java.util.List;
import java.util.regex.Pattern;

/** The model's tensors of a torch_dist checkpoint under their keys, without what wrappers put before these. */
final class TorchDistKeys implements StoredKeys {
    /** What wrappers and outer dicts put before the names of a model, each as often as there are wrappers. */
    private static final List<String> WRAPPERS = List.of("model.", "module.");

    private static final Pattern OPTIMIZER = Pattern.compile("(chained_\\d+\\.)?optimizer\\.|chained_");

    private final DcpCheckpoint checkpoint;
    private final List<DcpTensor> tensors;
    private final int[] ofModel;
    private final String prefix;
    private final NameTable names = new NameTable();

    /**
     * The keys of tensors.
     *
     * @param checkpoint the checkpoint
     * @param tensors its tensors
     * @param ofModel which of these belong to the model
     * @param prefix what their names begin with, if they do, which is no part of the key
     */
    TorchDistKeys(DcpCheckpoint checkpoint, List<DcpTensor> tensors, int[] ofModel, String prefix) {
        this.checkpoint = checkpoint;
        this.tensors = tensors;
        this.ofModel = ofModel;
        this.prefix = prefix;
        for (int number = 0; number < ofModel.length; number++) {
            names.add(key(number));
        }
    }

    /** What wrappers put before a name. */
    static String prefixOf(String name) {
        return name.substring(0, prefixEnd(name));
    }

    private static int prefixEnd(String name) {
        int end = 0;
        for (int i = 0; i < WRAPPERS.size(); i++) {
            if (name.startsWith(WRAPPERS.get(i), end)) {
                end += WRAPPERS.get(i).length();
                i = -1;
            }
        }
        return end;
    }

    /** True if only a Megatron model has such a name. */
    static boolean isOfModel(String name) {
        int begin = prefixEnd(name);
        return name.startsWith("decoder.layers.", begin) || name.startsWith("embedding.word_embeddings.", begin);
    }

    /** True if a name is that of a tensor of an optimizer's state. */
    static boolean isOfOptimizer(String name) {
        boolean possible = name.startsWith("chained_") || name.startsWith("optimizer.");
        return possible && OPTIMIZER.matcher(name).lookingAt();
    }

    /** The tensor of a number. */
    DcpTensor tensor(int number) {
        return tensors.get(ofModel[number]);
    }

    @Override
    public int size() {
        return ofModel.length;
    }

    @Override
    public String key(int number) {
        String name = tensor(number).name();
        return name.startsWith(prefix) ? name.substring(prefix.length()) : name;
    }

    @Override
    public NameTable names() {
        return names;
    }

    @Override
    public Shape shape(int number) {
        return tensor(number).logicalShape();
    }

    @Override
    public boolean contains(String key) {
        return checkpoint.tensor(prefix + key).isPresent()
                || !key.startsWith(prefix) && checkpoint.tensor(key).isPresent();
    }
}
