package dev.shardsmith.verify.report;

import java.io.FilterWriter;
import java.io.IOException;
import java.io.Writer;

/**
 * Writes JSON so that it can stand inside a script element: no {@code <}, so neither its end nor a comment can begin.
 *
 * <p>In JSON that character occurs inside strings alone, where its escape means the same.
 */
final class ScriptSafeWriter extends FilterWriter {
    ScriptSafeWriter(Writer out) {
        super(out);
    }

    @Override
    public void write(int c) throws IOException {
        if (c == '<') {
            out.write("\\u003c");
        } else {
            out.write(c);
        }
    }

    @Override
    public void write(char[] text, int offset, int length) throws IOException {
        int start = offset;
        for (int i = offset; i < offset + length; i++) {
            if (text[i] == '<') {
                out.write(text, start, i - start);
                out.write("\\u003c");
                start = i + 1;
            }
        }
        out.write(text, start, offset + length - start);
    }

    @Override
    public void write(String text, int offset, int length) throws IOException {
        write(text.toCharArray(), offset, length);
    }
}
