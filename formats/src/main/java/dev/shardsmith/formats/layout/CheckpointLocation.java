package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.safetensors.SafetensorsIndex;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What was found at a path: the layout and its files, nothing of what they hold. */
public sealed interface CheckpointLocation {
    /** The folder that holds the files, or the file itself. */
    Path path();

    /** The layout's name in reports. */
    String layout();

    /** One sentence about what it was taken for and why. */
    String explanation();

    /**
     * Where a Megatron checkpoint stands among its iterations.
     *
     * @param root the folder with the tracker, if the iteration was found through it or lies in one
     * @param number the iteration; empty for {@code release} and for folders of other names
     * @param release true for the folder {@code release}
     */
    record Iteration(Optional<Path> root, OptionalLong number, boolean release) {
        static final Iteration UNKNOWN = new Iteration(Optional.empty(), OptionalLong.empty(), false);
    }

    /**
     * Files of Megatron's legacy form.
     *
     * @param ranks every rank's folder, complete, in the order of its numbers
     */
    record MegatronLegacy(Path path, Iteration iteration, List<RankFolder> ranks) implements CheckpointLocation {
        @Override
        public String layout() {
            return "megatron";
        }

        @Override
        public String explanation() {
            return "Megatron legacy checkpoint: " + ranks.size() + " folder(s) mp_rank_*";
        }
    }

    /**
     * One rank's folder of Megatron's legacy form.
     *
     * @param name the folder's name
     * @param tensor tensor-parallel rank
     * @param second pipeline rank, or the expert rank if only that is written; empty where the name has one number
     * @param third expert rank; empty where the name has fewer than three numbers
     * @param model the file with model, arguments and more
     * @param others further known files of the folder: distributed optimizer, optimizer shards
     */
    record RankFolder(String name, int tensor, OptionalInt second, OptionalInt third, Path model, List<Path> others) {}

    /**
     * Megatron's distributed form.
     *
     * @param metadata what {@code metadata.json} says
     * @param common the file with arguments and other state that is not sharded; later versions have none
     */
    record TorchDist(Path path, Iteration iteration, TorchDistMetadata metadata, Optional<Path> common)
            implements CheckpointLocation {
        @Override
        public String layout() {
            return "torch_dist";
        }

        @Override
        public String explanation() {
            return "Megatron distributed checkpoint (torch_dist): metadata.json";
        }
    }

    /**
     * A distributed checkpoint of PyTorch without Megatron's {@code metadata.json}.
     *
     * @param common the file with arguments and other state that is not sharded, which only Megatron writes
     * @param damaged true if there is a {@code metadata.json}, but it is cut or damaged
     */
    record PlainDcp(Path path, Iteration iteration, Optional<Path> common, boolean damaged)
            implements CheckpointLocation {
        @Override
        public String layout() {
            return "dcp";
        }

        @Override
        public String explanation() {
            return "PyTorch distributed checkpoint: .metadata without "
                    + (damaged ? "a sound metadata.json" : "Megatron's metadata.json");
        }
    }

    /** Form of a Hugging Face folder's files. */
    enum WeightFormat {
        SAFETENSORS,
        BIN
    }

    /**
     * The index of a folder's files with tensors.
     *
     * @param file where it was read from
     * @param content what it says
     */
    record Index(Path file, SafetensorsIndex content) {}

    /**
     * A Hugging Face folder.
     *
     * @param config {@code config.json}, if it is there
     * @param format form of {@code weights}
     * @param index the index of {@code weights}, if it is there
     * @param weights the files with tensors, by name, or in the order of the index
     * @param alternative files of the other form that the folder has as well
     */
    record HuggingFace(
            Path path,
            Optional<Path> config,
            WeightFormat format,
            Optional<Index> index,
            List<Path> weights,
            List<Path> alternative)
            implements CheckpointLocation {
        @Override
        public String layout() {
            return "huggingface";
        }

        @Override
        public String explanation() {
            String form = format == WeightFormat.SAFETENSORS ? "safetensors" : "pytorch_model*.bin";
            return "Hugging Face folder: " + weights.size() + " " + form + " file(s)";
        }
    }

    /** How it is known which file is which rank's. */
    enum Naming {
        /** The model is not divided. */
        WHOLE,
        /** The names say so, or the user. */
        RANKS,
        /** Only by numbers in their names: whether they are ranks is for their content to tell. */
        NUMBERS
    }

    /**
     * Files of mamba_ssm, whole or one of each tensor-parallel rank.
     *
     * @param config {@code config.json}, if it is there
     * @param ranks the files of each rank, complete, by rank; one entry if the model is whole
     * @param pattern how the files of ranks are named, with {@code {rank}}; empty if the model is whole
     * @param naming how that is known
     */
    record MambaSsm(Path path, Optional<Path> config, List<List<Path>> ranks, String pattern, Naming naming)
            implements CheckpointLocation {
        /** An undivided model. */
        static MambaSsm whole(Path path, Optional<Path> config, List<Path> files) {
            return new MambaSsm(path, config, List.of(files), "", Naming.WHOLE);
        }

        @Override
        public String layout() {
            return "mamba_ssm";
        }

        @Override
        public String explanation() {
            return naming == Naming.WHOLE
                    ? "mamba_ssm checkpoint: " + ranks.get(0).size() + " file(s)"
                    : "mamba_ssm checkpoint: " + ranks.size() + " rank file(s) " + pattern;
        }
    }

    /** One file, of whatever content. */
    record SingleFile(Path path) implements CheckpointLocation {
        @Override
        public String layout() {
            return "file";
        }

        @Override
        public String explanation() {
            return "a single file";
        }
    }
}
