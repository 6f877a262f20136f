//! Against a real API server, named by `SOLUTION_TEST_KUBECONFIG`.
