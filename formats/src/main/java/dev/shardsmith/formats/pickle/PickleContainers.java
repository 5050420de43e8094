package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The operations that make tuples, lists, dicts and sets and put something into them, or let a consumer take it. */
final class PickleContainers {
    private final PickleMachine machine;
    private final PickleMeter meter;
    private final Optional<PickleConsumer> consumer;

    PickleContainers(PickleMachine machine, PickleMeter meter, Optional<PickleConsumer> consumer) {
        this.machine = machine;
        this.meter = meter;
        this.consumer = consumer;
    }

    /** Packs the one, two or three topmost values. */
    void tuple(int count) throws CheckpointException {
        PyValue third = count > 2 ? machine.pop() : null;
        PyValue second = count > 1 ? machine.pop() : null;
        PyValue first = machine.pop();
        machine.push(meter.node(
                switch (count) {
                    case 1 -> PyTuple.ofOne(first);
                    case 2 -> PyTuple.ofTwo(first, second);
                    default -> PyTuple.ofArray(new PyValue[] {first, second, third});
                }));
    }

    void tupleAboveMark() throws CheckpointException {
        replaceToMark(PyTuple.ofArray(machine.copiedValues()));
    }

    void dictAboveMark() throws CheckpointException {
        PyDict dict = new PyDict();
        machine.fill(dict);
        replaceToMark(dict);
    }

    void listAboveMark() throws CheckpointException {
        replaceToMark(new PyList(machine.values()));
    }

    void frozenSetAboveMark() throws CheckpointException {
        replaceToMark(new PySet(true, machine.values()));
    }

    private void replaceToMark(PyValue container) throws CheckpointException {
        machine.dropToMark();
        machine.push(meter.node(container));
    }

    void setItem() throws CheckpointException {
        PyValue value = machine.pop();
        PyValue key = machine.pop();
        PyValue target = machine.peek();
        PyEntry entry = new PyEntry(key, value);
        if (target instanceof PyDict dict) {
            if (consumer.isPresent() && consumer.get().entries(List.of(entry))) {
                return;
            }
            dict.entries().add(entry);
        } else {
            itemsOf(target).add(entry);
        }
        meter.grow(PickleMeter.NODE);
    }

    void setItems() throws CheckpointException {
        machine.requireMark();
        PyValue target = machine.belowMark();
        if (target instanceof PyDict dict) {
            if (consumer.isPresent() && consumer.get().entries(machine.entries())) {
                machine.forgetToMark();
                return;
            }
            machine.fill(dict);
        } else if (machine.countAboveMark() > 0) {
            itemsOf(target).addAll(machine.entries());
        }
        machine.dropToMark();
    }

    private List<PyEntry> itemsOf(PyValue target) throws CheckpointException {
        if (!(target instanceof PyObject object)) {
            throw meter.malformed("an item with a key is put into " + target.describe());
        }
        if (object.lastStep() instanceof PyObject.Items items) {
            return items.entries();
        }
        List<PyEntry> entries = new ArrayList<>(2);
        object.addStep(new PyObject.Items(entries));
        return entries;
    }

    void append() throws CheckpointException {
        PyValue value = machine.pop();
        appendTarget(machine.peek()).add(value);
        meter.grow(PickleMeter.SLOT);
    }

    void appends() throws CheckpointException {
        machine.requireMark();
        if (machine.countAboveMark() > 0) {
            PyValue target = machine.belowMark();
            if (consumer.isPresent()
                    && target instanceof PyList
                    && consumer.get().values(machine.aboveMark())) {
                machine.forgetToMark();
                return;
            }
            appendTarget(target).addAll(machine.values());
        }
        machine.dropToMark();
    }

    private List<PyValue> appendTarget(PyValue target) throws CheckpointException {
        if (target instanceof PyList list) {
            return list.items();
        }
        if (!(target instanceof PyObject object)) {
            throw meter.malformed("an item is appended to " + target.describe());
        }
        if (object.lastStep() instanceof PyObject.Appends appends) {
            return appends.values();
        }
        List<PyValue> values = new ArrayList<>(2);
        object.addStep(new PyObject.Appends(values));
        return values;
    }

    void addItems() throws CheckpointException {
        machine.requireMark();
        PyValue target = machine.belowMark();
        if (target instanceof PySet set && !set.frozen()) {
            set.items().addAll(machine.values());
        } else if (target instanceof PyObject object) {
            object.addStep(new PyObject.Adds(new ArrayList<>(machine.values())));
        } else {
            throw meter.malformed("an item is added to " + target.describe());
        }
        machine.dropToMark();
    }
}
