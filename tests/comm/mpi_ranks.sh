# SPDX-License-Identifier: Apache-2.0
# Runs sten_mpi_tests with 1, 2, 3 and 4 ranks: mpi_ranks.sh BUILD_DIR
set -eu

program=$1/bin/sten_mpi_tests
# Allows root and more ranks than processors, and avoids copies that containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
if [ ! -e "$program" ] || ! mpirun -q -n 2 true 2>/dev/null; then
  echo 'mpi_ranks: skipped, MPI was not built, or mpirun cannot start processes'
  exit 77
fi
for ranks in 1 2 3 4; do
  status=0
  timeout 60 mpirun -q -n $ranks "$program" || status=$?
  [ $status = 0 ] || {
    echo "mpi_ranks: exit code $status with $ranks ranks" >&2
    exit $status
  }
done
