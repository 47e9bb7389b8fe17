# warmfork as a sidecar or gateway in front of vLLM.
#   docker build -t warmfork .
#   docker run -p 127.0.0.1:8080:8080 -e WARMFORK_UPSTREAM=http://vllm:8000 warmfork

FROM docker.io/library/node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run prepack

FROM docker.io/library/node:24-bookworm-slim
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY config config

# warmfork listens on loopback alone by default, which nothing outside a container can reach.
# The admin port stays there: open it on purpose with `admin.host` where it is scraped.
# Variables win over a configuration file, so the ports are always those that are exposed and checked here.
ENV NODE_ENV=production \
    WARMFORK_HOST=0.0.0.0 \
    WARMFORK_PORT=8080 \
    WARMFORK_ADMIN_PORT=8081
EXPOSE 8080

# By number, so that Kubernetes' runAsNonRoot can tell. It is the base image's user `node`.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.WARMFORK_ADMIN_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
