"""Methods of other papers, each as its text has it or better: a family a file."""
