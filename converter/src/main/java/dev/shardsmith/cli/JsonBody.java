package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** Writes the fields of a command's JSON document that follow the common ones. */
@FunctionalInterface
interface JsonBody {
    /** Writes name and value of each field; the document's braces are written by the caller. */
    void write(JsonGenerator json) throws IOException;
}
