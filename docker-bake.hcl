# The three images of the Dockerfile for several processors, by BuildKit:
#   docker buildx bake                                        builds them
#   NAME=registry.example/wpool docker buildx bake --push     builds them and pushes them to a registry
# An emulated processor compiles slowly; a builder with a node of each kind does not emulate.

variable "NAME" { default = "wpool" }
variable "VERSION" { default = "0.1.0" }
variable "REVISION" { default = "unknown" }

group "default" {
  targets = ["wpool", "python", "dev"]
}

target "all" {
  platforms = ["linux/amd64", "linux/arm64"]
  args      = { REVISION = REVISION }
}

target "wpool" {
  inherits = ["all"]
  target   = "wpool"
  tags     = ["${NAME}:${VERSION}", "${NAME}:latest"]
}

target "python" {
  inherits = ["all"]
  target   = "python"
  tags     = ["${NAME}:${VERSION}-python", "${NAME}:python"]
}

target "dev" {
  inherits = ["all"]
  target   = "dev"
  tags     = ["${NAME}:${VERSION}-dev", "${NAME}:dev"]
}
