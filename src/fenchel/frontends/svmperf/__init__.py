"""SVM-perf's programs ``svm_perf_learn`` and ``svm_perf_classify`` (version 3.00), for linear models."""
