"""The examples, as their headers say: by typed words, and by spoken ones."""
