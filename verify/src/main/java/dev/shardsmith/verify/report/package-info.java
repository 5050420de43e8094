/**
 * Reports as one HTML file: no network, no other files, light and dark, for screens, keyboards and paper.
 *
 * <p>A command fills a {@link dev.shardsmith.verify.report.ReportDocument}; {@link dev.shardsmith.verify.report.HtmlReport}
 * writes it as JSON into the template that lies beside the classes.
 */
package dev.shardsmith.verify.report;
