package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.verify.launch.LaunchOption;
import dev.shardsmith.verify.launch.LaunchScript;
import dev.shardsmith.verify.validate.MegatronOption.Kind;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The arguments that a launch script's options set, with the defaults of those it does not give. */
final class LaunchArguments {
    private final LaunchScript script;
    private final Map<String, String> values = new LinkedHashMap<>();
    private final Map<String, LaunchOption> given = new LinkedHashMap<>();
    private final Set<String> unresolved = new LinkedHashSet<>();

    LaunchArguments(LaunchScript script) {
        this.script = script;
        for (MegatronOption option : MegatronOption.all()) {
            values.putIfAbsent(option.field(), option.otherwise());
        }
        for (LaunchOption option : script.options()) {
            Optional<MegatronOption> known = MegatronOption.of(option.name());
            known.ifPresent(meaning -> set(meaning, option));
        }
        boolean hybrid = script.program().contains("mamba") || script.program().contains("hybrid");
        if (hybrid) {
            values.put("is_hybrid_model", "True");
        }
        if (values.get("spec").contains("mamba") || values.get("spec").contains("hybrid")) {
            values.put("is_hybrid_model", "True");
        }
    }

    private void set(MegatronOption meaning, LaunchOption option) {
        given.put(meaning.field(), option);
        unresolved.remove(meaning.field());
        if (!option.unresolved().isEmpty() && meaning.kind() != Kind.ON && meaning.kind() != Kind.OFF) {
            unresolved.add(meaning.field());
        }
        values.put(
                meaning.field(),
                switch (meaning.kind()) {
                    case ON -> "True";
                    case OFF -> "False";
                    case ONE -> option.values().isEmpty() ? "" : option.values().get(0);
                    case MANY -> option.value();
                });
    }

    /** The arguments; what depends on an unknown variable is left out. */
    ArgumentValues values() {
        Map<String, String> known = new LinkedHashMap<>(values);
        unresolved.forEach(field -> known.put(field, "None"));
        return ArgumentValues.of(script.name(), known);
    }

    /** The option that sets an argument, if it is given. */
    Optional<LaunchOption> option(String field) {
        return Optional.ofNullable(given.get(field));
    }

    /** Whether an argument depends on a variable without a known value. */
    boolean isUnresolved(String field) {
        return unresolved.contains(field);
    }

    /** The value as it stands in the script, or the default. */
    String shown(String field) {
        LaunchOption option = given.get(field);
        String value = values.getOrDefault(field, "None");
        return option != null && isUnresolved(field) ? option.value() : value;
    }
}
