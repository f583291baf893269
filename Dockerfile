# All that `make results` needs, with pinned packages. The results go to a mounted folder:
#   docker build -t faithlib .
#   docker run --rm -u "$(id -u)" -v "$PWD/results:/faithlib/results" -v "$PWD/figures:/faithlib/figures" faithlib
# A command of one's own replaces the last line: snakemake --config scale=small papers=fmm
FROM python:3.11-slim-bookworm
WORKDIR /faithlib
COPY . .
# Any user id may run it: what a run writes beside the results is open to all.
RUN pip install --no-cache-dir -c constraints.txt -e ".[batch,cluster]" \
    && mkdir -p .snakemake checkpoints figures results runs \
    && chmod -R a+rwX .snakemake checkpoints figures results runs
USER 1000
CMD ["snakemake", "--config", "scale=quick"]
