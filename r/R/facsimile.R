# Every function is described in man/. Nothing is computed here: what is protected, charged and written is decided by
# the Python library alone.

library_of <- function() reticulate::import("synth", convert = FALSE)

schema_of <- function(schema) if (is.character(schema)) library_of()$Schema$load(schema) else schema

# A file as it is. Cells of a data frame pass as text through a file that nobody else may read, and that is gone at
# once: in memory R's missing texts would become the word NA.
table_of <- function(data) {
  if (is.character(data)) return(normalizePath(data))
  before <- Sys.umask("077")
  plain <- options(scipen = 100) # 100000, never 1e+05
  file <- tempfile(fileext = ".csv")
  on.exit({ unlink(file); Sys.umask(before); options(plain) })
  utils::write.csv(data, file, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  reticulate::import("pandas", convert = FALSE)$read_csv(file, dtype = "str", keep_default_na = FALSE)
}

# Numbers as numbers, days as Date, moments as POSIXct, all else as text.
frame_of <- function(frame) {
  kinds <- vapply(reticulate::iterate(frame$dtypes, function(t) reticulate::py_to_r(t$kind)), identity, "")
  text <- reticulate::py_to_r(frame$to_csv(index = FALSE))
  classes <- ifelse(kinds %in% c("i", "u", "f"), "numeric", "character")
  made <- utils::read.csv(text = text, colClasses = classes, na.strings = "", check.names = FALSE, encoding = "UTF-8")
  moments <- kinds == "M"
  made[moments] <- lapply(made[moments], function(t) {
    if (all(nchar(t) <= 10, na.rm = TRUE)) as.Date(t) else as.POSIXct(t, "UTC")
  })
  made
}

# Facts by way of JSON: texts that Python can say in other languages are plain ones in R.
plain_of <- function(facts) {
  json <- reticulate::import("json", convert = FALSE)
  reticulate::py_to_r(json$loads(json$dumps(facts)))
}

syn <- function(data, schema, epsilon, delta = 1e-5, ...) {
  result <- library_of()$run(table_of(data), schema = schema_of(schema), epsilon = epsilon, delta = delta, ...)
  made <- list(syn = frame_of(result$frame), card = plain_of(result$card), result = result)
  structure(made, class = "synthetic")
}

print.synthetic <- function(x, ...) {
  cat(reticulate::py_repr(x$result), x$card$meaning, sep = "\n")
  invisible(x)
}

as.data.frame.synthetic <- function(x, ...) x$syn

compare <- function(object, data) {
  uses <- plain_of(object$result$compare(table_of(data))$verdict$plain())
  rows <- lapply(uses, function(u) data.frame(level = u$level, use = u$use, value = c(u$value, NA)[1]))
  do.call(rbind, rows)
}

ask <- function(release, question, data = NULL, epsilon = NULL, ...) {
  if (inherits(release, "synthetic")) release <- dirname(reticulate::py_to_r(release$result$paths)$card)
  asked <- library_of()$Release(release)$question(question)
  if (is.null(data)) return(reticulate::py_to_r(asked$price(...)))
  terms <- reticulate::py_to_r(asked$answer(table_of(data), epsilon = epsilon, ...)$terms)
  figures <- c("synthetic", "estimate", "low", "high")
  do.call(rbind, lapply(names(terms), function(n) data.frame(term = n, terms[[n]][figures])))
}
